"""The REST server: UDPipe's API, a typed JSON API, and the page.

It may import everything but `cli` and `integrations`. Sentences of concurrent requests are parsed in shared batches.
"""
