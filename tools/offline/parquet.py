"""Read the words of a Parquet file that holds one column of different strings, without pyarrow's 40 MB.

Such a file holds each string once: in the dictionary page as long as that has room, then in plain pages. So the strings
of these pages, in the file's order, are the column. Pages are compressed by Snappy, their headers are Thrift's compact
encoding, and parquet.thrift numbers the fields.
"""

import struct
from dataclasses import dataclass

MAGIC = b"PAR1"
DATA_PAGE, DICTIONARY_PAGE = 0, 2
PLAIN = 0
STRUCT = 12  # Thrift's type of a field that holds fields


class UnknownLayout(ValueError):
    """Raised for a file that is no Parquet file, or is one of another kind than this module reads."""


def strings(data: bytes) -> list[str]:
    """Return the strings of the file's only column."""
    if data[:4] != MAGIC or data[-4:] != MAGIC:
        raise UnknownLayout("this is no Parquet file")
    [footer_size] = struct.unpack("<i", data[-8:-4])
    reader, end, found = _Reader(data, len(MAGIC)), len(data) - 8 - footer_size, []
    while reader.at < end:
        header = reader.fields()
        start, reader.at = reader.at, reader.at + header[3]
        page = snappy(data[start : reader.at])
        if header[1] == DICTIONARY_PAGE and header[7][2] == PLAIN:
            found += _plain(page)
        elif header[1] == DATA_PAGE and header[5][2] == PLAIN:
            [levels] = struct.unpack("<i", page[:4])  # which rows are missing: none, as strings are read one by one
            found += _plain(page[4 + levels :])
        elif header[1] != DATA_PAGE:
            raise UnknownLayout(f"page type {header[1]} is not one that this module reads")
    return found


def _plain(page: bytes) -> list[str]:
    """Return strings that are each written as a length of four bytes and as many bytes of UTF-8."""
    at, found = 0, []
    while at < len(page):
        [length] = struct.unpack_from("<i", page, at)
        found.append(page[at + 4 : at + 4 + length].decode("utf-8"))
        at += 4 + length
    return found


def snappy(data: bytes) -> bytes:
    """Return what Snappy compressed: a length, then pieces that are bytes or copies of bytes already written."""
    reader, out = _Reader(data, 0), bytearray()
    size = reader.varint()
    while reader.at < len(data):
        tag = data[reader.at]
        reader.at += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                length = reader.little(length - 59)
            out += data[reader.at : reader.at + length + 1]
            reader.at += length + 1
            continue
        if tag & 3 == 1:
            length, back = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | reader.little(1)
        else:
            length, back = (tag >> 2) + 1, reader.little(2 if tag & 3 == 2 else 4)
        start = len(out) - back
        while length > 0:  # a copy may reach into what it writes itself
            piece = out[start : start + length]
            out += piece
            start, length = start + len(piece), length - len(piece)
    if len(out) != size:
        raise UnknownLayout(f"a page has {len(out)} bytes and should have {size}")
    return bytes(out)


@dataclass
class _Reader:
    data: bytes
    at: int

    def little(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.little(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def fields(self) -> dict:
        """Return a Thrift structure of whole numbers, truths, texts and structures, by the numbers of its fields."""
        found: dict = {}
        number = 0
        while byte := self.little(1):
            kind = byte & 15
            number = number + (byte >> 4) if byte >> 4 else self._zigzag()
            if kind in (1, 2):
                found[number] = kind == 1
            elif kind in (4, 5, 6):
                found[number] = self._zigzag()
            elif kind == 8:
                length = self.varint()
                found[number] = self.data[self.at : self.at + length]
                self.at += length
            elif kind == STRUCT:
                found[number] = self.fields()
            else:
                raise UnknownLayout(f"a page's header holds a field of Thrift's type {kind}")
        return found

    def _zigzag(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)
