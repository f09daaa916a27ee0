"""Prints the table of vectors_test.cpp: an implementation of docs/fingerprint.md that shares
nothing with the library's.  Needs numpy and xxhash:  python make_vectors.py
"""

import numpy as np
import xxhash

CHUNK = 64 * 1024
MASK = (1 << 64) - 1


def splitmix64(index):
    z = (index + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def digest(data):
    chunks = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)] or [b""]
    digests = [xxhash.xxh3_128_digest(chunk) for chunk in chunks]
    if len(digests) == 1:
        return digests[0].hex()
    return xxhash.xxh3_128_digest(b"".join(digests)).hex()


def tree(lanes):
    lanes = list(lanes)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[i] + lanes[i + half] for i in range(half)]
    return lanes[0]


def statistics_and_sketch(values, per_chunk):
    total = l1 = squares_total = 0.0
    cells = np.zeros((16, 16))
    for first in range(0, len(values), per_chunk):
        chunk = values[first : first + per_chunk]
        sums, negative, squares = np.zeros(16), np.zeros(16), np.zeros(16)
        part = np.zeros((16, 16))
        for start in range(0, len(chunk), 16):
            row_values = np.zeros(16)
            piece = chunk[start : start + 16]
            row_values[: len(piece)] = np.where(np.isfinite(piece), piece, 0.0)
            block, row = divmod((first + start) // 16, 64)
            word = splitmix64(block * 20 + row // 4) >> row % 4 * 16
            rotation = splitmix64(block * 20 + 16 + row // 16) >> row % 16 * 4 & 15
            signs = np.array([-1.0 if word >> lane & 1 else 1.0 for lane in range(16)])
            sums = sums + row_values
            negative = negative + np.minimum(row_values, 0.0)
            squares = squares + row_values * row_values
            part[rotation] = part[rotation] + signs * row_values
        chunk_sum = tree(sums)
        total += chunk_sum
        l1 += chunk_sum - 2 * tree(negative)
        squares_total += tree(squares)
        cells = cells + part
    sketch = [0.0] * 16
    for bucket in range(16):
        for rotation in range(16):
            sketch[bucket] += cells[rotation][bucket ^ rotation]
    return total, l1, squares_total, sketch


def random_words(count):
    return np.array([splitmix64(i) for i in range(count)], dtype=np.uint64)


def moderate(count):
    """Exact in float32: 24 random bits around 0, divided by 2^20."""
    return ((random_words(count) >> np.uint64(40)).astype(np.int64) - (1 << 23)) / float(1 << 20)


def case(dtype, count):
    """(bytes, values as float64, components in a chunk)"""
    if dtype == "Float32":
        x = moderate(count).astype(np.float32)
        return x.tobytes(), x.astype(np.float64), CHUNK // 4
    if dtype == "Float64":
        x = moderate(count) / 3.0
        return x.tobytes(), x, CHUNK // 8
    if dtype == "Float16":
        x = moderate(count).astype(np.float16)
        return x.tobytes(), x.astype(np.float64), CHUNK // 2
    if dtype == "BFloat16":
        bits = moderate(count).astype(np.float32).view(np.uint32) >> 16
        x = (bits << 16).astype(np.uint32).view(np.float32)
        return bits.astype(np.uint16).tobytes(), x.astype(np.float64), CHUNK // 2
    if dtype == "Complex64":
        x = moderate(2 * count).astype(np.float32)
        return x.tobytes(), x.astype(np.float64), CHUNK // 4
    numpy_type = {"Int8": np.int8, "UInt8": np.uint8, "Int32": np.int32, "Int64": np.int64}[dtype]
    x = random_words(count).astype(numpy_type)
    return x.tobytes(), x.astype(np.float64), CHUNK // x.itemsize


def main():
    for dtype in (
        "Float32 Float64 Float16 BFloat16 Complex64 Int8 UInt8 Int32 Int64".split()
    ):
        for count in (1, 7, 1000, 70000):
            data, values, per_chunk = case(dtype, count)
            total, l1, squares, sketch = statistics_and_sketch(values, per_chunk)
            # The order of additions aside, numpy's own sums must agree.
            assert np.isclose(total, values.sum(), rtol=1e-9, atol=1e-6 * np.abs(values).max())
            assert np.isclose(l1, np.abs(values).sum(), rtol=1e-9)
            assert np.isclose(squares, (values * values).sum(), rtol=1e-9)
            sketch_digest = xxhash.xxh3_128_hexdigest(np.array(sketch).tobytes())
            numbers = [values.min(), values.max(), total, l1, squares]
            print(f'    {{DType::{dtype}, {count}, "{digest(data)}",')
            print(f"     {', '.join(float(x).hex() for x in numbers)},")
            print(f'     "{sketch_digest}"}},')


if __name__ == "__main__":
    main()
