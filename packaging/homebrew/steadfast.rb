class Steadfast < Formula
  desc "Durable job queue and scheduler whose speciality is retry"
  homepage "{{repository}}"
  version "{{version}}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  # A static program: no dependency, on any Linux of its architecture.
  on_linux do
{{archives}}  end

  def install
    bin.install "steadfast"
    pkgshare.install "steadfast.example.toml"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/steadfast.bash" => "steadfast"
    zsh_completion.install "completions/_steadfast"
    fish_completion.install "completions/steadfast.fish"
  end

  service do
    run [opt_bin/"steadfast", "serve"]
    working_dir var/"steadfast"
    keep_alive crashed: true
  end

  def post_install
    (var/"steadfast").mkpath
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/steadfast --version")
    assert_match "attempt", shell_output("#{bin}/steadfast policy preview patient")
  end
end
