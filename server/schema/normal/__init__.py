"""What the keywords of a schema mean together: from a document to the nodes of `server.schema.nodes`."""
