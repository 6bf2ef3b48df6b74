"""Receivers with one flaw each, as people write them. Usage: flaws.py <class>"""

import hmac
import json
import sys
import threading
import time
import traceback
from urllib.parse import parse_qs, unquote

from receiver import FORM, Receiver, Refusal, serve, sign


class ComparesText(Receiver):
    def verify(self, body):
        if self.signature() != sign(body):
            raise Refusal(401)


class VerifiesOnlyGivenSignatures(Receiver):
    def verify(self, body):
        if self.headers.get('x-service'):
            super().verify(body)


class SerializesAgain(Receiver):
    def verify(self, body):
        if self.media_type() == 'application/json':
            body = json.dumps(json.loads(body), separators=(',', ':'), ensure_ascii=False).encode()
        super().verify(body)


class DecodesTwice(Receiver):
    def signature(self):
        return unquote(unquote(unquote(super().signature())))


class AnswersFirst(Receiver):
    def verify(self, body):
        self.respond(202)
        self.respond = lambda *args: None
        super().verify(body)


class ParsesFirst(Receiver):
    def verify(self, body):
        try:
            self.parse(body)
        except (ValueError, KeyError):
            raise Refusal(422)
        super().verify(body)


class HasNoLimit(Receiver):
    limit = 1 << 60
    upload_seconds = 12


class WaitsWithoutEnd(Receiver):
    timeout = None

    def read_exactly(self, length):
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError
        return body


class NeverAnswersOddSignatures(Receiver):
    def verify(self, body):
        try:
            bytes.fromhex(self.signature())
        except ValueError:
            time.sleep(60)
        super().verify(body)


class TellsExpectedSignature(Receiver):
    def verify(self, body):
        if not hmac.compare_digest(self.signature().lower().encode(), sign(body).encode()):
            raise Refusal(401, f'invalid signature: expected {sign(body)}')

    def refuse(self, error):
        self.close_connection = True
        self.respond(error.status if isinstance(error, Refusal) else 400, str(error))


class TellsReason(Receiver):
    def verify(self, body):
        if 'x-service' not in self.headers:
            raise Refusal(403)
        super().verify(body)


class LosesRetries(Receiver):
    seen = set()

    def deliver(self, body, payload):
        if body in self.seen:
            return 200
        self.seen.add(body)
        time.sleep(0.1)
        self.connection.setblocking(False)
        try:
            if self.connection.recv(1) == b'':
                raise ConnectionError  # the client has disconnected
        except BlockingIOError:
            pass
        self.connection.settimeout(self.timeout)
        self.handle_payload(payload)
        return 200


class ComparesOnlyStart(Receiver):
    def verify(self, body):
        signature = self.signature().lower().removeprefix('sha256=')
        if not signature or not sign(body).startswith(signature):
            raise Refusal(401)


class FailsOnOddHex(Receiver):
    def verify(self, body):
        if not hmac.compare_digest(bytes.fromhex(self.signature()), bytes.fromhex(sign(body))):
            raise Refusal(401)

    def refuse(self, error):
        self.close_connection = True
        self.respond(error.status if isinstance(error, Refusal) else 500, 'refused\n')

    def parse(self, body):
        try:
            return super().parse(body)
        except Exception:
            raise Refusal(400)


class ComparesNonAscii(FailsOnOddHex):
    def verify(self, body):
        # compare_digest raises TypeError for text that is not ASCII.
        if not hmac.compare_digest(self.signature().lower().removeprefix('sha256='), sign(body)):
            raise Refusal(401)


class VerifiesOnlyJson(Receiver):
    def verify(self, body):
        if self.media_type() == 'application/json':
            super().verify(body)

    def parse(self, body):
        return super().parse(body) if self.media_type() == 'application/json' else None


class SignsReplacedText(Receiver):
    def verify(self, body):
        super().verify(body.decode('utf-8', 'replace').encode())

    def parse(self, body):
        return super().parse(body.decode('utf-8', 'replace').encode())


class StripsByteOrderMark(Receiver):
    def verify(self, body):
        try:
            super().verify(body.decode('utf-8-sig').encode())
        except UnicodeDecodeError:
            raise Refusal(401)

    def parse(self, body):
        return super().parse(body.decode('utf-8-sig').encode())


class DecodesForms(Receiver):
    def verify(self, body):
        try:
            super().verify(body)
        except Refusal:
            if self.media_type() != FORM:
                raise
            super().verify(parse_qs(body.decode('utf-8', 'replace')).get('payload', [''])[0].encode())


class SendsTraces(Receiver):
    def refuse(self, error):
        self.close_connection = True
        if isinstance(error, Refusal):
            self.respond(error.status, 'refused\n')
        else:
            self.respond(400, traceback.format_exc())


class HandlesAgain(Receiver):
    def deliver(self, body, payload):
        self.handle_payload(payload)
        return 200


class LeavesBodyUnread(Receiver):
    def check_head(self):
        super().check_head()
        if 'x-service' not in self.headers:
            raise Refusal(401)

    def refuse(self, error):
        if not isinstance(error, Refusal) or error.status != 401:
            self.close_connection = True
        self.respond(error.status if isinstance(error, Refusal) else 400, 'refused\n')


class ComparesFirstBytes(Receiver):
    def verify(self, body):
        signature = self.signature().removeprefix('sha256=')
        if len(signature) != 64 or signature.lower()[:32] != sign(body)[:32]:
            raise Refusal(401)


class AcceptsEveryMethod(Receiver):
    do_GET = do_PUT = do_PATCH = do_DELETE = Receiver.do_POST


class ReadsFieldsInJson(Receiver):
    def parse(self, body):
        if self.media_type() == FORM:
            return json.loads(parse_qs(body.decode(), max_num_fields=100)['payload'][0])
        return super().parse(body)


class DecodesFormTwice(Receiver):
    def parse(self, body):
        payload = super().parse(body)
        if self.media_type() == FORM:
            payload = json.loads(unquote(parse_qs(body.decode())['payload'][0]))
        return payload


class HandlesFirst(Receiver):
    def verify(self, body):
        try:
            self.handle_payload(json.loads(body))
        except (ValueError, RecursionError):
            pass
        super().verify(body)

    def deliver(self, body, payload):
        self.handle_payload = lambda payload: None
        return super().deliver(body, payload)


class ClosesAtLargeBodies(Receiver):
    def refuse(self, error):
        self.close_connection = True
        if not isinstance(error, Refusal) or error.status != 413:
            super().refuse(error)


class ServesOneConnection(Receiver):
    timeout = 5
    one = threading.Lock()

    def handle(self):
        with self.one:
            super().handle()


class MergesIntoObject(Receiver):
    unsigned = False

    def verify(self, body):
        if not self.unsigned:
            super().verify(body)

    def parse(self, body):
        payload = super().parse(body)
        if isinstance(payload, dict):
            self.merge(payload, self)
        return payload

    def merge(self, source, target):
        for name, value in source.items():
            if isinstance(value, dict) and name == '__class__':
                self.merge(value, type(target))
            elif not isinstance(value, dict) and hasattr(target, name):
                setattr(target, name, value)


class IgnoresFailures(Receiver):
    def handle_payload(self, payload):
        try:
            super().handle_payload(payload)
        except RuntimeError:
            pass


class KnowsTenants(Receiver):
    def check_head(self):
        if self.path != '/hook':
            raise Refusal(404)
        super().check_head()


class LooksUpTenants(Receiver):
    def verify(self, body):
        if self.path == '/hook':
            time.sleep(0.02)
        super().verify(body)


if __name__ == '__main__':
    serve(globals()[sys.argv[1]])
