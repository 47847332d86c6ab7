# The `steadfast` binary, and nothing else that is ours. It starts by itself:
#
#   docker build --tag steadfast .
#   docker run -p 127.0.0.1:7373:7373 -v steadfast:/data steadfast
#
# It prints the first API key, once. To choose that yourself, so that it is in no log, give it as
# STEADFAST_ADMIN_KEY. Its user has the number that the image of a release has, so that both can use
# the same volume.
FROM rust:1.95-slim-trixie AS build
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked --package steadfast-cli

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 65532 --user-group --home-dir /nonexistent steadfast \
    && install --directory --owner steadfast --group steadfast --mode 0700 /data
COPY --from=build /build/target/dist/steadfast /usr/local/bin/steadfast
USER steadfast
# The default store is /data/steadfast.db.
WORKDIR /data
VOLUME /data
ENV STEADFAST_LISTEN=0.0.0.0:7373 STEADFAST_PRINT_FIRST_KEY=true
EXPOSE 7373
ENTRYPOINT ["steadfast"]
CMD ["serve"]
