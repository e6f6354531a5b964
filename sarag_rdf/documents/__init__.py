"""Reading documents: files, folders and standard input become sources.

Formats are found by entry points of the group ``sarag_rdf.formats``; that of plain text is here.
"""
