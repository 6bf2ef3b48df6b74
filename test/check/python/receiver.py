"""A correct receiver written with the standard library of Python. flaws.py replaces single methods."""

import hashlib
import hmac
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

KEY = os.environ.get('SIGNATURE_KEY', '').encode()
# The handler fails for the delivery whose id is in this file.
FAILING = os.environ.get('FAILING')
LIMIT = 1_000_000
FORM = 'application/x-www-form-urlencoded'


class Refusal(Exception):
    def __init__(self, status, reason='refused'):
        super().__init__(reason)
        self.status = status


def sign(body):
    return hmac.new(KEY, body, hashlib.sha256).hexdigest()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client has disconnected


class Receiver(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 15
    limit = LIMIT
    upload_seconds = 3
    handled = {}
    lock = threading.Lock()

    def log_message(self, *args):
        pass

    def version_string(self):
        return 'receiver'

    def do_POST(self):
        try:
            self.check_head()
            body = self.read_body()
            self.verify(body)
            self.respond(self.deliver(body, self.parse(body)))
        except OSError:
            self.close_connection = True
        except Exception as error:
            self.refuse(error)

    def do_OTHER(self):
        self.close_connection = True
        self.respond(405, headers={'allow': 'POST'})

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OTHER

    def respond(self, status, text='', headers={}):
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('content-length', str(len(body)))
        if self.close_connection:
            self.send_header('connection', 'close')
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, error):
        # The body may be unread, so the connection must not be used again.
        self.close_connection = True
        self.respond(error.status if isinstance(error, Refusal) else 400, 'refused\n')

    # Steps

    def check_head(self):
        lengths = self.headers.get_all('content-length', [])
        if len(lengths) > 1 or not all(length.isascii() and length.isdigit() for length in lengths):
            raise Refusal(400)
        if lengths and int(lengths[0]) > self.limit:
            raise Refusal(413)
        if 'content-encoding' in self.headers:
            raise Refusal(415)

    def read_body(self):
        self.deadline = time.monotonic() + self.upload_seconds
        if self.headers.get('transfer-encoding', '').lower() == 'chunked':
            body = self.read_chunks()
        else:
            body = self.read_exactly(int(self.headers.get('content-length', 0)))
        self.connection.settimeout(self.timeout)
        return body

    def read_exactly(self, length):
        body = bytearray()
        while len(body) < length:
            self.connection.settimeout(max(0.001, self.deadline - time.monotonic()))
            piece = self.rfile.read1(length - len(body))
            if not piece:
                raise ConnectionError('the body is not complete')
            body += piece
        return bytes(body)

    def read_chunks(self):
        body = b''
        while size := int(self.rfile.readline(20), 16):
            if len(body) + size > self.limit:
                raise Refusal(413)
            body += self.read_exactly(size)
            self.rfile.readline(2)
        while self.rfile.readline(1000).strip():
            pass  # trailers
        return body

    def signature(self):
        values = self.headers.get_all('x-service', [])
        return values[0] if len(values) == 1 else ''

    def verify(self, body):
        try:
            signature = bytes.fromhex(self.signature().removeprefix('sha256='))
        except ValueError:
            signature = b''
        if not hmac.compare_digest(signature, bytes.fromhex(sign(body))):
            raise Refusal(401)

    def media_type(self):
        return self.headers.get_content_type()

    def parse(self, body):
        text = body.decode()
        if self.media_type() == 'application/json':
            return json.loads(text)
        if self.media_type() == FORM and text.startswith('payload='):
            return json.loads(parse_qs(text, max_num_fields=100)['payload'][0])
        raise Refusal(415)

    def deliver(self, body, payload):
        signature = sign(body)
        with self.lock:
            state = self.handled.setdefault(signature, self)
        if state is not self:
            return 200 if state == 'done' else 409
        try:
            self.handle_payload(payload)
        except Exception:
            del self.handled[signature]
            raise Refusal(500)
        self.handled[signature] = 'done'
        return 200

    def handle_payload(self, payload):
        if isinstance(payload, dict):
            name = str(payload.get('name'))
            if FAILING and os.path.exists(FAILING) and name.endswith(open(FAILING).read()):
                raise RuntimeError('the handler fails')
            # One call, because lines that several threads print at once can be mixed.
            os.write(1, f"handled {payload.get('name')}\n".encode())


def serve(receiver):
    server = Server(('127.0.0.1', 0), receiver)
    print(f'listening on http://127.0.0.1:{server.server_port}/hook', flush=True)
    server.serve_forever()


if __name__ == '__main__':
    serve(Receiver)
