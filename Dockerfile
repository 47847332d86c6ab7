# The `steadfast` binary, and nothing else that is ours.
FROM rust:1.95-slim-trixie AS build
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked --package steadfast-cli

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home-dir /nonexistent steadfast
COPY --from=build /build/target/dist/steadfast /usr/local/bin/steadfast
USER steadfast
EXPOSE 7373
ENTRYPOINT ["steadfast"]
