# Shoal as a container: the studio or any command, as a user without rights, without network.
#
#   make wheel && docker build -t shoal .
#   docker run --rm --network none -v "$PWD:/data" shoal anonymize people.csv -o release.csv -q age,sex -k 5 --others drop
#
# The wheel brings the kernels. One that does not fit this Python compiles them here, once, not in every container.
FROM python:3.11-slim
COPY dist/shoal-*.whl /tmp/
ENV SHOAL_CACHE=/opt/shoal
RUN pip install --no-cache-dir "$(echo /tmp/shoal-*.whl)[studio]" \
    && mkdir /opt/shoal && shoal cache warm && chmod -R a+rX /opt/shoal && rm /tmp/shoal-*.whl \
    && useradd --uid 1000 --create-home shoal
USER 1000
WORKDIR /data
ENTRYPOINT ["shoal"]
CMD ["--help"]
