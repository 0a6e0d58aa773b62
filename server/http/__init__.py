"""What stands around every request, whatever it asks for.

It knows connections, headers, bodies as bytes and who may call; what a body says is for `server.api` alone.
From the outside in: `connection`, `exchange`, `boundary`, `auth`, `bounded`, `body`. Beside them, `dialect`
spells errors as each API does, and `disconnect` gives work up when its client is gone. `server.app` puts
them together.
"""
