import type { Reply } from './http/reply.ts'
import { answers, describe, failed, isLimited, undecided } from './judge.ts'
import type { Probe } from './probe.ts'
import { VARIABLE } from './refusals.ts'
import type { Finding } from './types.ts'

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
export async function findPollution(probe: Probe): Promise<Finding> {
  const before = [await sendAll(probe), await sendAll(probe)]
  let finding = undecided('nothing was sent')
  let evidence = ''
  for (const payload of payloadsOf(probe.sender.create().body)) {
    const body = Buffer.from(JSON.stringify(pollute(payload)))
    finding = answers(await probe.deliver(body), 'signed JSON with members such as __proto__')
    if (finding.verdict !== 'passed') return finding
  }
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
  const { create, credential } = probe.sender
  const attempts: [string, (body: Buffer) => Promise<Reply>][] = [
    ['a valid delivery', (body) => probe.deliver(body)],
    ['a delivery without a signature', (body) => probe.deliver(body, { credential: null })],
    [
      'a signature made with another key',
      (body) => probe.deliver(body, { credential: credential(body, { key: MARK }) }),
    ],
    ['GET', () => probe.send({ method: 'GET' })],
  ]
  const all: Sent[] = []
  for (const [sent, send] of attempts) all.push({ sent, reply: await send(create().body) })
  return all
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
