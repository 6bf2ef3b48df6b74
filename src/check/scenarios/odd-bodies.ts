import { gzipSync } from 'node:zlib'
import { answers, judgeEach } from '../judge.ts'
import { findPollution } from '../pollution.ts'
import type { Scenario } from '../scenario.ts'
import { FORM_TYPE } from '../signed-form.ts'

const PARSE =
  'Catch errors of the parser, check that the result is an object or an array, and respond with 400 otherwise.'
const BOUND = 'Limit the nesting and the number of fields, and respond with 400 above the limits.'

/** Signed bodies that are unusual, or no payloads. Creates them only when they are sent, because some are large. */
export const ODD_BODIES: readonly Scenario[] = [
  {
    id: 'body-proto',
    level: 'must',
    phase: 'last',
    title:
      'responds with 2xx or 4xx to signed JSON with members such as __proto__, and then responds to others as before',
    reason:
      'If a receiver merges such a payload into its objects, or looks up change types in a plain object, it can fail, or treat all later senders differently.',
    fix: 'Do not merge the payload into other objects, and look up change types in a Map.',
    run: findPollution,
  },
  ...[
    { id: 'body-empty', what: 'a signed empty body', fix: PARSE, body: () => '' },
    { id: 'body-not-json', what: 'a signed body that is not JSON', fix: PARSE, body: () => '{"a":' },
    {
      id: 'body-scalar',
      what: 'signed JSON that is neither an object nor an array',
      fix: PARSE,
      body: () => 'null',
    },
    {
      id: 'body-not-utf8',
      what: 'a signed body that is not UTF-8',
      fix: PARSE,
      body: () => Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    },
    {
      id: 'body-bom-signed',
      what: 'signed JSON with a byte order mark before it',
      fix: PARSE,
      body: () => '\ufeff{"events":[]}',
    },
    {
      id: 'body-deep',
      what: 'signed JSON with 10,000 levels of nesting',
      fix: BOUND,
      body: () => `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    },
    {
      id: 'body-many-fields',
      what: 'signed JSON with 100,000 members',
      fix: BOUND,
      body: () =>
        JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at.toString(36), 0]))),
    },
    {
      id: 'form-many-fields',
      what: 'a signed form with 100,000 fields',
      fix: BOUND,
      body: () => 'a=1&'.repeat(100_000),
      contentType: FORM_TYPE,
    },
    {
      id: 'form-malformed',
      what: 'a signed form with invalid percent-encoding',
      fix: PARSE,
      body: () => 'payload=%zz%',
      contentType: FORM_TYPE,
    },
    {
      id: 'content-type-wrong',
      what: 'signed JSON with the content type text/plain',
      fix: 'Respond with 415, or parse the body as JSON.',
      body: () => '{"events":[]}',
      contentType: 'text/plain',
    },
    {
      id: 'compressed',
      what: 'a signed compressed body',
      fix: 'Verify the compressed bytes before you decompress them, or respond with 415.',
      body: () => gzipSync('{"events":[]}'),
      headers: [['content-encoding', 'gzip']] as const,
    },
  ].map(
    ({ id, what, fix, body, ...parts }): Scenario => ({
      id,
      level: 'must',
      title: `responds with 2xx or 4xx to ${what}`,
      reason:
        'A sender counts a 5xx or no response as a failure. It may send the same body again, and may disable the webhook after several failures.',
      fix,
      run: (probe) =>
        judgeEach(probe, [{ sent: what, body: Buffer.from(body() as string), ...parts }], answers),
    }),
  ),
]
