import { gzipSync } from 'node:zlib'
import { type Attempt, answers, describe, each, isLimited, type Scenario, untilProblem } from '../judge.ts'
import { type DeliveryParts, FORM_TYPE, type Probe } from '../probe.ts'
import type { Reply } from '../response.ts'
import { type Finding, failed, undecided } from '../types.ts'
import { VARIABLE } from './refusals.ts'

const PARSE =
  'Catch errors of the parser, check that the result is an object or an array, and respond with 400 otherwise.'
const BOUND = 'Limit the nesting and the number of fields, and respond with 400 above the limits.'

const FORM: DeliveryParts = { contentType: FORM_TYPE }

const oddBody = (
  id: string,
  what: string,
  fix: string,
  createBody: () => string | Buffer,
  parts: DeliveryParts = {},
): Scenario => ({
  id,
  level: 'must',
  title: `responds with 2xx or 4xx to ${what}`,
  reason:
    'A sender counts a 5xx or no response as a failure. It may send the same body again, and may disable the webhook after several failures.',
  fix,
  run: each(answers, () => [{ sent: what, body: Buffer.from(createBody() as string), ...parts }]),
})

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
  oddBody('body-empty', 'a signed empty body', PARSE, () => ''),
  oddBody('body-not-json', 'a signed body that is not JSON', PARSE, () => '{"a":'),
  oddBody('body-scalar', 'signed JSON that is neither an object nor an array', PARSE, () => 'null'),
  oddBody('body-not-utf8', 'a signed body that is not UTF-8', PARSE, () =>
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  ),
  oddBody(
    'body-bom-signed',
    'signed JSON with a byte order mark before it',
    PARSE,
    () => '\ufeff{"events":[]}',
  ),
  oddBody(
    'body-deep',
    'signed JSON with 10,000 levels of nesting',
    BOUND,
    () => `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
  ),
  oddBody('body-many-fields', 'signed JSON with 100,000 members', BOUND, () =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at.toString(36), 0]))),
  ),
  oddBody('form-many-fields', 'a signed form with 100,000 fields', BOUND, () => 'a=1&'.repeat(100_000), FORM),
  oddBody('form-malformed', 'a signed form with invalid percent-encoding', PARSE, () => 'payload=%zz%', FORM),
  oddBody(
    'content-type-wrong',
    'signed JSON with the content type text/plain',
    'Respond with 415, or parse the body as JSON.',
    () => '{"events":[]}',
    { contentType: 'text/plain' },
  ),
  oddBody(
    'compressed',
    'a signed compressed body',
    'Verify the compressed bytes before you decompress them, or respond with 415.',
    () => gzipSync('{"events":[]}'),
    { headers: [['content-encoding', 'gzip']] },
  ),
]

const MARK = 'geohook-check'

/** Members that a receiver may look up in its objects, with values that would change its responses. */
const MEMBERS: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    'admin isAdmin authenticated authorized trusted valid verified isVerified skip unsigned debug disabled failed'
      .split(' ')
      .map((name) => [name, true]),
  ),
  ...Object.fromEntries(
    'body error key message name reason secret signature signatureKey text title type'
      .split(' ')
      .map((name) => [name, MARK]),
  ),
  status: 510,
  statusCode: 510,
  code: 510,
  'json spaces': 3,
  [MARK]: MARK,
}

/** Adds members that change a program's objects if it merges them: `__proto__` in JavaScript, `__class__` in Python. */
function pollute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pollute)
  if (typeof value !== 'object' || value === null) return value
  return {
    ...Object.fromEntries(Object.entries(value).map(([name, member]) => [name, pollute(member)])),
    ['__proto__']: MEMBERS,
    constructor: { prototype: MEMBERS },
    __class__: { ...MEMBERS, __init__: { __globals__: MEMBERS } },
  }
}

/** Payloads with such members, and with change types that are members of every object. */
const payloadsOf = (body: Buffer): unknown[] => [
  { events: ['__proto__', 'constructor'].map((eventType) => ({ eventType })) },
  JSON.parse(body.toString()),
]

/** How often the same difference must occur. */
const REPEATS = 8

/** Sends payloads with `__proto__`, and compares the responses to other requests before and after them. */
async function findPollution(probe: Probe): Promise<Finding> {
  const before = [await sendAll(probe), await sendAll(probe)]
  const finding = await untilProblem(payloadsOf(probe.sender.create().body), async (payload) => {
    const body = Buffer.from(JSON.stringify(pollute(payload)))
    return answers(await probe.deliver({ body }), 'signed JSON with members such as __proto__')
  })
  if (finding.verdict !== 'passed') return finding
  let evidence = ''
  // Several servers behind one address respond differently by chance, but not with the same difference each time.
  let differences: string[] | undefined
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const after = await sendAll(probe)
    const replies = [...before, after].flat()
    const limited = replies.find(({ reply }) => isLimited(reply))
    if (limited) return undecided(`sent ${limited.sent}: ${describe(limited.reply)}`)
    const found = after.flatMap((_, at) =>
      changedParts(before[0]![at]!, before[1]![at]!, after[at]!).map((name) => `${at} ${name}`),
    )
    differences = differences?.filter((difference) => found.includes(difference)) ?? found
    if (differences.length === 0) return finding
    const changed = Number.parseInt(differences[0]!, 10)
    const { sent, reply } = after[changed]!
    evidence = `sent ${sent}: ${describe(before[0]![changed]!.reply)}; after a payload with members such as __proto__: ${describe(reply)}`
  }
  return failed(evidence)
}

interface Sent {
  readonly sent: string
  readonly reply: Reply
}

/** Sends requests of several kinds, whose responses must not depend on earlier payloads. */
async function sendAll(probe: Probe): Promise<Sent[]> {
  const { credential } = probe.sender
  const attempts: Attempt[] = [
    { sent: 'a valid delivery' },
    { sent: 'a delivery without a signature', credential: null },
    { sent: 'a signature made with another key', credential: (body) => credential(body, { key: MARK }) },
  ]
  const all: Sent[] = []
  for (const attempt of attempts) all.push({ sent: attempt.sent, reply: await probe.deliver(attempt) })
  return [...all, { sent: 'GET', reply: await probe.send({ method: 'GET' }) }]
}

/** Returns the names of the parts in which the last response differs from the first two, which are equal in them. */
function changedParts(first: Sent, second: Sent, last: Sent): string[] {
  const [a, b, c] = [first, second, last].map(({ reply }) => partsOf(reply)) as [Parts, Parts, Parts]
  return [...new Set([...a.keys(), ...c.keys()])].filter(
    (name) => a.get(name) === b.get(name) && a.get(name) !== c.get(name),
  )
}

type Parts = ReadonlyMap<string, string>

/** Returns the parts of a response to compare. Replaces numbers and ids, because they differ between responses. */
function partsOf(reply: Reply): Parts {
  if (reply.status === undefined) return new Map([['status', reply.problem]])
  const withoutNumbers = (text: string): string => text.replace(/[0-9a-f-]{8,}|\d+/gi, '0')
  const headers = reply.headers
    .map(([name, value]): [string, string] => [name.toLowerCase(), withoutNumbers(value)])
    .filter(([name]) => !VARIABLE.has(name))
  const body = reply.body.toString('latin1')
  return new Map([
    ['status', String(reply.status)],
    ['body', withoutNumbers(body)],
    ['mark', String(`${body}${JSON.stringify(reply.headers)}`.includes(MARK))],
    ...headers,
  ])
}
