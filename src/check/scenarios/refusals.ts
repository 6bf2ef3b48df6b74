import { type Attempt, describe, isLimited } from '../judge.ts'
import { type DeliveryParts, FORM_TYPE, type Probe } from '../probe.ts'
import { headerOf, isRefusal, type Reply } from '../response.ts'
import { type Finding, failed, passed, skipped, undecided } from '../types.ts'

/** Headers that differ in any two responses, or belong to the connection. */
export const VARIABLE: ReadonlySet<string> = new Set([
  'date',
  'age',
  'connection',
  'keep-alive',
  'content-length',
])

/** Compares the responses to deliveries that the receiver refuses for different reasons. */
export function compareRefusals(probe: Probe): Promise<Finding> {
  const [first, ...others] = refusedAttempts(probe)
  const pairs = others.map((other): [Attempt, Attempt] => [first, other])
  return compareResponses(probe, pairs, (reply) => isRefusal(reply) && !isLimited(reply))
}

const NO_TENANT = 'it needs the URL of a tenant that does not exist (--unknown-url)'

/** Compares the responses at the payload URL with those at the URL of an unknown tenant. */
export function compareTenants(probe: Probe): Promise<Finding> | Finding {
  const { unknownPath: path, sender } = probe
  if (path === undefined) return skipped(NO_TENANT)
  const { body } = sender.create()
  const attempts: Attempt[] = [
    ...refusedAttempts(probe),
    { sent: 'an unsigned form', body, credential: null, contentType: FORM_TYPE },
    { sent: 'PUT', body, credential: null, method: 'PUT' },
    { sent: 'GET', body: Buffer.alloc(0), credential: null, method: 'GET' },
  ]
  const pairs = attempts.map((attempt): [Attempt, Attempt] => [
    attempt,
    { ...attempt, path, sent: `${attempt.sent} to the unknown tenant` },
  ])
  return compareResponses(probe, pairs, (reply) => reply.status !== undefined && !isLimited(reply))
}

/** Compares the responses to each pair of requests. They must be equal. */
async function compareResponses(
  probe: Probe,
  pairs: readonly [Attempt, Attempt][],
  isUsable: (reply: Reply) => boolean,
): Promise<Finding> {
  let evidence = ''
  for (const [attempt, other] of pairs) {
    const first = await probe.deliver(attempt)
    const again = await probe.deliver(attempt)
    const reply = await probe.deliver(other)
    evidence = `sent ${attempt.sent}: ${describe(again)}; sent ${other.sent}: ${describe(reply)}`
    if (![first, again, reply].every(isUsable)) return undecided(evidence)
    const changing = new Set([...VARIABLE, ...changingHeaders(first, again)])
    if (shape(probe, again, changing) === shape(probe, reply, changing)) continue
    const finding = await compareAgain(probe, changing, [
      { attempt, before: again },
      { attempt: other, before: reply },
    ])
    if (finding.verdict !== 'passed') return finding
  }
  return passed(`${pairs.length} pairs of requests, the same responses; the last one: ${evidence}`)
}

interface Compared {
  attempt: Attempt
  /** The response that it got. */
  before: Reply
}

/** How often a difference between two refusals must occur again. */
const REPEATS = 8

/**
 * Compares two refusals again and again, because some responses change now and then: headers with a time, or those of
 * several servers behind one address.
 */
async function compareAgain(
  probe: Probe,
  changing: Set<string>,
  compared: readonly [Compared, Compared],
): Promise<Finding> {
  let evidence = ''
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const replies: Reply[] = []
    for (const { attempt, before } of compared) {
      const reply = await probe.deliver(attempt)
      for (const name of changingHeaders(before, reply)) changing.add(name)
      replies.push(reply)
    }
    evidence = compared
      .map(({ attempt }, index) => `sent ${attempt.sent}: ${describe(replies[index]!)}`)
      .join('; ')
    const shapes = replies.map((reply) => shape(probe, reply, changing))
    if (shapes.some((text, index) => text !== shape(probe, compared[index]!.before, changing)))
      return undecided(`the response differs between two equal requests; ${evidence}`)
    if (shapes[0] === shapes[1]) return passed(evidence)
  }
  return failed(evidence)
}

/** Deliveries with one mistake each. */
function refusedAttempts({ sender }: Probe): [Attempt, ...Attempt[]] {
  const { body } = sender.create()
  const right = sender.credential(body)
  return [
    { sent: 'a wrong signature', body, credential: sender.credential(body, { key: 'another key' }) },
    { sent: 'no signature', body, credential: null },
    { sent: 'an empty signature', body, credential: '' },
    { sent: 'a malformed signature', body, credential: 'malformed' },
    { sent: 'half of the signature', body, credential: right.slice(0, right.length / 2) },
  ]
}

/** Returns the names of the headers that differ between two responses. */
function changingHeaders(a: Reply, b: Reply): string[] {
  const names = [a, b].flatMap((reply) =>
    reply.status === undefined ? [] : reply.headers.map(([name]) => name.toLowerCase()),
  )
  return names.filter((name) => headerOf(a, name) !== headerOf(b, name))
}

/** Returns what must be equal in all refusals: everything but the path, which some servers repeat. */
function shape({ url, unknownPath = '' }: Probe, reply: Reply, changing: ReadonlySet<string>): string {
  if (reply.status === undefined) return reply.problem
  const paths = [unknownPath, unknownPath.split('?')[0]!, url.pathname + url.search, url.pathname]
  const headers = reply.headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !changing.has(name))
  return paths
    .filter((path) => path.length > 1)
    .reduce(
      (text, path) => text.replaceAll(path, ''),
      JSON.stringify([reply.status, headers, reply.body.toString('latin1')]),
    )
}

/** Milliseconds for one comparison, and the smallest and largest number of requests of each kind in it. */
const BUDGET = 4_000
const MIN_ROUNDS = 30
const MAX_ROUNDS = 200

/** Compares the times to refuse a signature that is wrong from the start, and one whose first half is right. */
export const compareTimes = (probe: Probe): Promise<Finding> =>
  compareTwice(probe, 'the signature whose first half is right', (body) => [
    { credential: wrongFrom(probe, body, 0) },
    { credential: wrongFrom(probe, body, 0.5) },
  ])

/** Compares the times to refuse a wrong signature for the tenant of the payload URL, and for an unknown tenant. */
export async function compareTenantTimes(probe: Probe): Promise<Finding> {
  const { unknownPath: path, sender } = probe
  if (path === undefined) return skipped(NO_TENANT)
  const credential = sender.wrongCredential()
  return compareTwice(probe, 'the unknown tenant', () => [{ credential }, { credential, path }])
}

type Pair = (body: Buffer) => [DeliveryParts, DeliveryParts]

/**
 * Compares the times of two requests. Other work on the machine can cause a difference too, so a difference counts only
 * if a second comparison finds it again.
 *
 * @param second what the second request is, for the evidence
 */
async function compareTwice(probe: Probe, second: string, pair: Pair): Promise<Finding> {
  const first = await measureTimes(probe, second, pair)
  if (!first.isClear) return first.finding
  const again = await measureTimes(probe, second, pair)
  return again.isClear && again.isLonger !== first.isLonger
    ? passed('a second comparison contradicted the difference that the first one found')
    : again.finding
}

interface Measured {
  finding: Finding
  isClear: boolean
  /** True if the second request took longer. */
  isLonger: boolean
}

async function measureTimes(probe: Probe, what: string, pair: Pair): Promise<Measured> {
  const { body } = probe.sender.create()
  const requests = pair(body).map((parts) => probe.bytes({ body, ...parts })) as [Buffer, Buffer]
  const times: [number[], number[]] = [[], []]
  const end = performance.now() + BUDGET
  let connection = await probe.connect()
  try {
    for (let round = 0; round < 2 * MAX_ROUNDS && performance.now() < end; round++) {
      // Alternates the order, so that neither side is always first.
      const side = (round + (round >> 1)) & 1
      await connection.write(requests[side]!)
      const reply = await connection.read()
      if (reply.status === undefined || isLimited(reply)) return unclear(undecided(describe(reply)))
      times[side]!.push(reply.milliseconds)
      if (!connection.isReusable) {
        connection.destroy()
        connection = await probe.connect()
      }
    }
  } finally {
    connection.destroy()
  }
  const [wrong, other] = times
  if (wrong.length < MIN_ROUNDS) {
    const why = `only ${wrong.length} requests in ${BUDGET / 1000} s: the receiver is too far away to measure`
    return unclear(undecided(why))
  }
  const { difference, isClear } = compareSamples(wrong, other)
  const evidence = `${wrong.length} requests each: the medians differ by ${Math.abs(difference * 1000).toFixed(0)} µs`
  if (!isClear) return unclear(passed(`${evidence}, less than this run can detect`))
  const isLonger = difference > 0
  const finding = failed(`${evidence}, ${what} took ${isLonger ? 'longer' : 'less'}`)
  return { finding, isClear, isLonger }
}

const unclear = (finding: Finding): Measured => ({ finding, isClear: false, isLonger: false })

/**
 * Returns the right signature with other digits from a part of its length on. 0 and 4 are digits of hex and of base64,
 * where not every digit is valid in the last place (RFC 4648 section 3.5).
 */
function wrongFrom({ sender }: Probe, body: Uint8Array, part: number): string {
  const right = sender.credential(body, { prefix: '' })
  const from = Math.floor(right.length * part)
  const wrong = right.slice(from).replace(/[0-9A-Za-z+/]/g, (digit) => (digit === '0' ? '4' : '0'))
  return sender.prefix + right.slice(0, from) + wrong
}

/** Part of the median by which two medians must differ to count. */
const MIN_RATIO = 0.1
/** Value of Welch's t above which a difference counts; chance reaches 4.5 in one of 100,000 comparisons. */
const MIN_T = 4.5
/** Part of the slowest times to ignore: pauses of either side make them. */
const CROPPED = 0.1

/**
 * Compares two samples of times in milliseconds. The difference is clear if it is both large and not due to chance
 * (Welch's t-test of the times without the slowest ones).
 */
function compareSamples(
  a: readonly number[],
  b: readonly number[],
): { difference: number; isClear: boolean } {
  const [x, y] = [crop(a), crop(b)]
  const difference = medianOf(y) - medianOf(x)
  const t = (meanOf(y) - meanOf(x)) / Math.sqrt(varianceOf(x) / x.length + varianceOf(y) / y.length)
  const isLarge = Math.abs(difference) > MIN_RATIO * Math.min(medianOf(x), medianOf(y))
  return { difference, isClear: isLarge && Math.abs(t) > MIN_T }
}

const crop = (times: readonly number[]): number[] =>
  [...times].sort((a, b) => a - b).slice(0, Math.ceil(times.length * (1 - CROPPED)))

const medianOf = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? 0
const meanOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length

function varianceOf(numbers: readonly number[]): number {
  const mean = meanOf(numbers)
  return numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / (numbers.length - 1)
}
