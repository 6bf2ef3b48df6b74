import { stringify as qsStringify } from 'node:querystring'
import { JSON_BODY, type Row } from '../table.ts'

const NAMES = '{"name":"it\'s (new) ~*! \u00fc"}'
/** Output of `urlencode({'payload': NAMES})` in Python. */
const PYTHON_FORM = 'payload=%7B%22name%22%3A%22it%27s+%28new%29+~%2A%21+%C3%BC%22%7D'
/** `URLEncoder.encode(NAMES, UTF_8)` in Java. */
const JAVA_FORM = 'payload=%7B%22name%22%3A%22it%27s+%28new%29+%7E*%21+%C3%BC%22%7D'
/** Output of `$.param({ payload: NAMES })` in jQuery. */
const JQUERY_FORM = "payload=%7B%22name%22%3A%22it's+(new)+~*!+%C3%BC%22%7D"
/** `rawurlencode(NAMES)` in PHP. */
const PHP_FORM = 'payload=%7B%22name%22%3A%22it%27s%20%28new%29%20~%2A%21%20%C3%BC%22%7D'
const JS_FORM = `payload=${encodeURIComponent(NAMES)}`
/** Output of `HttpUtility.UrlEncode` in .NET. */
const DOT_NET_FORM = 'payload=%7b%22name%22%3a%22Flurst%c3%bccke%22%7d&f=json'
/** Parses the fields of a form, as `express.urlencoded()` does. */
const parsedForm = (form: string): Record<string, string> => Object.fromEntries(new URLSearchParams(form))

/** Each row: the cause, the mistake, the bytes that were signed, the bytes that the receiver has. */
const TABLE: [Row['cause'], string, string, string][] = [
  [
    'body_form_decoded',
    'express.urlencoded() and JSON.stringify',
    JS_FORM,
    JSON.stringify(parsedForm(JS_FORM)),
  ],
  [
    'body_form_decoded',
    'express.urlencoded() and JSON.stringify, two fields, after .NET',
    DOT_NET_FORM,
    JSON.stringify(parsedForm(DOT_NET_FORM)),
  ],
  [
    'body_form_decoded',
    'req.body.payload, after Python',
    PYTHON_FORM,
    parsedForm(PYTHON_FORM).payload as string,
  ],
  ['body_form_decoded', 'req.body.payload, after Java', JAVA_FORM, parsedForm(JAVA_FORM).payload as string],
  ['body_form_decoded', 'req.body.payload, after jQuery', JQUERY_FORM, NAMES],
  ['body_form_decoded', 'req.body.payload, after PHP', PHP_FORM, NAMES],
  ['body_form_decoded', 'req.body.payload, after JavaScript', JS_FORM, NAMES],
  ['body_form_decoded', 'a form decoded as a whole', DOT_NET_FORM, decodeURIComponent(DOT_NET_FORM)],
  [
    'body_form_decoded',
    'a form parsed and encoded again by querystring',
    PYTHON_FORM,
    qsStringify(parsedForm(PYTHON_FORM)),
  ],
  [
    'body_form_decoded',
    'encodeURI, which leaves + as it is',
    'payload={"a":"b+c"}',
    encodeURI('payload={"a":"b+c"}'),
  ],
  ['body_form_decoded', 'the sender signs before it encodes', `payload=${NAMES}`, PYTHON_FORM],
  [
    'body_form_decoded',
    'a form whose JSON contains &',
    new URLSearchParams({ payload: JSON_BODY }).toString(),
    `payload=${JSON_BODY}`,
  ],
  ['body_form_decoded', 'a lone surrogate, which a form cannot hold', 'a=%EF%BF%BD', '{"a":"\\ud800"}'],

  ['body_form_field', 'the sender signs the JSON and sends a form', NAMES, PYTHON_FORM],
  [
    'body_form_field',
    'the sender signs the JSON and sends a form with more fields',
    NAMES,
    `${JAVA_FORM}&f=json&id=7`,
  ],
  ['body_form_field', 'the sender signs the encoded field', encodeURIComponent(NAMES), JS_FORM],
  ['body_form_field', 'the JSON contains & and is not encoded', JSON_BODY, `payload=${JSON_BODY}&f=json`],
  [
    'body_form_field',
    'a parser returned the field of a form that is not encoded',
    `payload=${JSON_BODY}`,
    JSON_BODY,
  ],
]

/**
 * Rows with the signature in the last form field. The receiver then verifies the payload field, not the whole body.
 */
const IN_FIELD: Row[] = [
  ['body_form_field', 'the sender signs the form up to the field', `payload=${JSON_BODY}`, JSON_BODY],
  [
    'body_form_decoded',
    'the sender signs the JSON before it encodes it',
    JSON_BODY,
    encodeURIComponent(JSON_BODY),
  ],
  ['body_reserialized', 'a parser rewrote the field', '{"events": []}', '{"events":[]}'],
].map(([cause, name, signed, field]) => ({
  cause: cause as Row['cause'],
  name: `${name}, with a signature in the form`,
  sent: { body: signed as string },
  headers: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
  got: { body: (digest) => `payload=${field}&x-service=sha256%3d${digest.toString('hex')}` },
}))

export const FORM_ROWS: readonly Row[] = [
  ...TABLE.map<Row>(([cause, name, signed, received]) => ({
    cause,
    name,
    sent: { body: signed },
    got: { body: received },
  })),
  ...IN_FIELD,
]
