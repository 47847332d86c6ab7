//! A real browser, started once for all tests and stopped with them.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use thirtyfour::{error::WebDriverErrorInner, prelude::*};
use tokio::sync::{Mutex, MutexGuard};

/// One test at a time uses it: several would only compete for the processor.
static ONE_TEST: Mutex<()> = Mutex::const_new(());

static PROCESSES: LazyLock<BrowserProcesses> = LazyLock::new(BrowserProcesses::start);

/// Longer than anything takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// The browser and its driver. A shell starts both, and stops them when this program has ended, even
/// if it was killed: then the other end of its input is closed.
struct BrowserProcesses {
    driver_port: u16,
    browser_port: u16,
    _shell: Child,
    _profile: TempDir,
}

const SHELL: &str = r#"
chromium --headless=new --no-sandbox --disable-dev-shm-usage --disable-gpu --hide-scrollbars \
  --remote-debugging-port=0 --user-data-dir="$1" about:blank >/dev/null 2>&1 &
chromedriver --port=0 2>/dev/null &
tries=600
until [ -s "$1/DevToolsActivePort" ] || [ $tries = 0 ]; do sleep 0.05; tries=$((tries - 1)); done
echo "browser on port $(head -n 1 "$1/DevToolsActivePort")."
cat >/dev/null
kill 0
"#;

impl BrowserProcesses {
    fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", SHELL, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let (mut driver_port, mut browser_port) = (None, None);
        let lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            let port = |after: &str| {
                let port = line.split(after).nth(1)?;
                port.trim_end_matches('.').parse::<u16>().ok()
            };
            driver_port = driver_port.or(port("successfully on port "));
            browser_port = browser_port.or(port("browser on port "));
            let is_last = line.starts_with("browser on port ") && browser_port.is_none();
            if (driver_port.is_some() && browser_port.is_some()) || is_last {
                break;
            }
        }
        let (Some(driver_port), Some(browser_port)) = (driver_port, browser_port) else {
            panic!("a browser is needed: apt-get install chromium chromium-driver");
        };
        Self {
            driver_port,
            browser_port,
            _shell: shell,
            _profile: profile,
        }
    }
}

pub struct Browser {
    pub driver: WebDriver,
    _guard: MutexGuard<'static, ()>,
}

#[derive(Clone, Copy, Default)]
pub struct BrowserOptions {
    pub dark: bool,
    pub without_scripts: bool,
    pub phone: bool,
}

impl Browser {
    /// The one browser, as if it were new.
    pub async fn start(options: BrowserOptions) -> Self {
        let guard = ONE_TEST.lock().await;
        let BrowserProcesses {
            driver_port,
            browser_port,
            ..
        } = &*PROCESSES;
        let mut caps = DesiredCapabilities::chrome();
        caps.set_debugger_address(&format!("127.0.0.1:{browser_port}"))
            .unwrap();
        let driver = WebDriver::new(format!("http://127.0.0.1:{driver_port}"), caps)
            .await
            .unwrap();
        let browser = Self {
            driver,
            _guard: guard,
        };
        // A page that waits for a connection would wait for a minute.
        let limited = browser.driver.set_page_load_timeout(TIMEOUT).await;
        limited.unwrap();
        browser.set(options).await;
        // Cookies are those of a host, whatever its port.
        browser.tell("Network.clearBrowserCookies", json!({})).await;
        browser
    }

    /// Another theme or size, with the same pages.
    pub async fn set(&self, options: BrowserOptions) {
        let theme = if options.dark { "dark" } else { "light" };
        let theme = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.tell("Emulation.setEmulatedMedia", json!({"features": theme}))
            .await;
        let (width, height) = if options.phone {
            (390, 844)
        } else {
            (1280, 1180)
        };
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": options.phone,
        });
        self.tell("Emulation.setDeviceMetricsOverride", size).await;
        let off = json!({"value": options.without_scripts});
        self.tell("Emulation.setScriptExecutionDisabled", off).await;
    }

    /// Runs a script in every page from now on, before those of the page.
    pub async fn load_everywhere(&self, script: &str) {
        let script = json!({"source": script});
        self.tell("Page.addScriptToEvaluateOnNewDocument", script)
            .await;
    }

    async fn tell(&self, command: &str, parameters: Value) {
        let told = self.driver.cdp().send_raw(command, parameters).await;
        told.unwrap();
    }

    /// The first matching element, once there is one: the page may still be loading.
    async fn find(&self, css: &str) -> WebElement {
        let query = self.driver.query(By::Css(css));
        query.wait(TIMEOUT, PAUSE).first().await.unwrap()
    }

    /// The text of the first matching element. Where a click has just led to another page, an
    /// element of the old one may be found that is gone when its text is read.
    pub async fn text(&self, css: &str) -> String {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        loop {
            match self.find(css).await.text().await {
                Err(error)
                    if matches!(
                        error.as_inner(),
                        WebDriverErrorInner::StaleElementReference(_)
                    ) && tokio::time::Instant::now() < deadline => {}
                text => return text.unwrap(),
            }
        }
    }

    pub async fn count(&self, css: &str) -> usize {
        self.driver.find_all(By::Css(css)).await.unwrap().len()
    }

    /// Waits, without a script, until this number of elements match.
    pub async fn until_count(&self, css: &str, expected: usize) {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while self.count(css).await != expected {
            let is_over = tokio::time::Instant::now() > deadline;
            assert!(!is_over, "never {expected} of {css}");
            tokio::time::sleep(PAUSE).await; // sleep: polls the browser
        }
    }

    pub async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    pub async fn type_into(&self, css: &str, text: &str) {
        self.find(css).await.send_keys(text).await.unwrap();
    }

    /// The result of a script in the page.
    pub async fn eval(&self, script: &str) -> serde_json::Value {
        let found = self.driver.execute(script, Vec::new()).await.unwrap();
        found.json().clone()
    }

    /// Waits until a script in the page returns true.
    pub async fn until(&self, script: &str) {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while self.eval(script).await != true {
            let is_over = tokio::time::Instant::now() > deadline;
            assert!(
                !is_over,
                "never true: {script}\n{}",
                self.text("body").await
            );
            tokio::time::sleep(PAUSE).await; // sleep: polls the browser
        }
    }

    /// Leaves the page, so that it asks for no more, and makes room for the next test.
    pub async fn quit(self) {
        self.driver.goto("about:blank").await.unwrap();
        self.driver.clone().quit().await.unwrap();
    }
}
