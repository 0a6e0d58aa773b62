"""What model families write, stated once: records, the streaming parser, the mask and the writer.

Pure: nothing here knows HTTP, asyncio or an engine, and only the standard library is imported.
"""
