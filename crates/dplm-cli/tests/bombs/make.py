"""Writes small files that claim to hold large ones. Needs pyarrow, numpy and 4 GB of memory; the results are committed."""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent


def main():
    # One page of 1.2 GB of zeros.
    zeros = pa.table({"y": np.zeros(150_000_000), "x": np.zeros(150_000_000)})
    options = dict(use_dictionary=False, compression="zstd", compression_level=19, write_statistics=False)
    pages = dict(row_group_size=150_000_000, data_page_size=2_000_000_000, write_batch_size=150_000_000)
    pq.write_table(zeros, HERE / "page.parquet", max_rows_per_page=150_000_000, **pages, **options)
    # The same as one buffer of an Arrow file.
    batch = pa.record_batch([pa.array(np.zeros(150_000_000))] * 2, names=["y", "x"])
    written = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=19))
    with pa.OSFile(str(HERE / "buffer.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema, options=written) as writer:
        writer.write_batch(batch)
    # A text of 8 MB that 500 rows name by its number in a dictionary.
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500, np.int32)), pa.array(["a" * 8_000_000]))
    table = pa.table({"y": np.zeros(500), "g": text})
    pq.write_table(
        table, HERE / "dictionary.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False
    )


if __name__ == "__main__":
    main()
