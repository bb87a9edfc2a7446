"""The REST server: UDPipe's API, typed JSON and the page, with requests that arrive together parsed together."""
