"""Writes the corpus of the binary formats: small tables whose cells hold the marker. Needs pyarrow; the results are committed."""

import pathlib

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent / "corpus"

NUMBERS = pa.table({"y": [987654.321, None, -1.5, 2.0], "x": [1, 2, 987654, None], "g": ["a", "m987654", "b", None]})
LEVELS = NUMBERS.set_column(2, "g", NUMBERS["g"].dictionary_encode())
ODD = pa.table(
    {
        "y": pa.array([True, False, None]),
        "x": pa.array([1.5, None, 987654.25], pa.float32()),
        "g": pa.array(["a", "b", "m987654"], pa.large_string()),
        "d": pa.array([0, 1, 2], pa.date32()),
        "n": pa.nulls(3),
    }
)


def main():
    for name in ("parquet", "arrow"):
        (HERE / name).mkdir(parents=True, exist_ok=True)
    for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
        pq.write_table(NUMBERS, HERE / "parquet" / f"{codec}.parquet", compression=codec)
    pq.write_table(ODD, HERE / "parquet" / "odd.parquet", use_dictionary=False, data_page_version="2.0")
    pq.write_table(LEVELS, HERE / "parquet" / "levels.parquet", row_group_size=2, write_statistics=False)
    for codec in ("uncompressed", "lz4", "zstd"):
        pyarrow.feather.write_feather(NUMBERS, HERE / "arrow" / f"{codec}.arrow", compression=codec)
    pyarrow.feather.write_feather(ODD, HERE / "arrow" / "odd.arrow", compression="uncompressed")
    for name, table in (("stream", LEVELS), ("stream-zstd", NUMBERS)):
        options = pa.ipc.IpcWriteOptions(compression="zstd" if name.endswith("zstd") else None)
        with pa.OSFile(str(HERE / "arrow" / f"{name}.arrow"), "wb") as sink:
            with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=2)


if __name__ == "__main__":
    main()
