import { type DeliveryParts, type Probe, shorten } from './probe.ts'
import { isRefusal, isSuccess, type Reply } from './response.ts'
import type { Sender } from './sender.ts'
import { type Finding, failed, passed, type ScenarioText, undecided } from './types.ts'

/** Describes a reply in words: `401 in 3 ms: {"title":"Unauthorized"…`. */
export function describe(reply: Reply): string {
  const time = `${Math.round(reply.milliseconds)} ms`
  if (reply.status === undefined) return `${PROBLEMS[reply.problem]} after ${time}`
  const shown = shorten(reply.excerpt)
  return `${reply.status} in ${time}${shown === '' ? '' : `: ${shown}`}`
}

const PROBLEMS = {
  timeout: 'no response, and the connection was still open,',
  closed: 'no response: the receiver closed the connection',
  malformed: 'a response that is not HTTP/1.1,',
} as const

/**
 * True if a gateway or the receiver has limited the number of requests, which says nothing about the scenario: 429, or
 * 503 as nginx answers above its limits.
 */
export const isLimited = ({ status }: Reply): boolean => status === 429 || status === 503

/** Returns undecided for a limited reply; otherwise the test decides. */
export function judge(reply: Reply, evidence: string, isRight: boolean): Finding {
  if (isLimited(reply)) return undecided(evidence)
  return isRight ? passed(evidence) : failed(evidence)
}

/** Judges a reply to a valid delivery: 2xx passes. */
export const accepts = (reply: Reply, sent: string): Finding =>
  judge(reply, `sent ${sent}: ${describe(reply)}`, isSuccess(reply))

/** Judges a reply to a request that the receiver must refuse: 4xx passes. */
export const refuses = (reply: Reply, sent: string): Finding =>
  judge(reply, `sent ${sent}: ${describe(reply)}`, isRefusal(reply))

/** Judges a reply to a request that the receiver may accept or refuse, but must answer without failing: 2xx and 4xx pass. */
export const answers = (reply: Reply, sent: string): Finding =>
  isSuccess(reply) ? accepts(reply, sent) : refuses(reply, sent)

/** A delivery to judge. */
export interface Attempt extends DeliveryParts {
  /** What is sent, as the object of `sent …`. */
  readonly sent: string
}

/** Runs a step for one item after another until one does not pass. Returns its finding, or the last one. */
export async function untilProblem<Item>(
  items: Iterable<Item>,
  step: (item: Item) => Promise<Finding>,
): Promise<Finding> {
  let finding = undecided('nothing was sent')
  for (const item of items) {
    finding = await step(item)
    if (finding.verdict !== 'passed') return finding
  }
  return finding
}

type Judge = (reply: Reply, sent: string) => Finding

/** Returns a function that sends requests one after another until one fails or is undecided. */
export const each =
  (toFinding: Judge, toAttempts: (sender: Sender) => readonly Attempt[]): Scenario['run'] =>
  async (probe) => {
    const attempts = toAttempts(probe.sender)
    const finding = await untilProblem(attempts, async (attempt) =>
      toFinding(await probe.deliver(attempt), attempt.sent),
    )
    return attempts.length > 1 && finding.verdict === 'passed'
      ? passed(`${attempts.length} requests; the last one: ${finding.evidence}`)
      : finding
  }

/** One thing that a conforming receiver does, and how to find out whether a receiver does it. */
export interface Scenario extends ScenarioText {
  /** True if it sends the same valid delivery more than once, or breaks one off. Then it runs only with `sideEffects`. */
  readonly hasSideEffects?: true
  /** True if it means nothing for senders that do not sign the body. */
  readonly needsSignature?: true
  /**
   * When it runs. `first`: before all others. `waiting`: it mostly waits, so it runs at the same time as all others if
   * the receiver serves several connections at once. `alone`: one after another, because it measures or counts. `last`:
   * it judges the responses to all others, or may damage the receiver. Default: several at the same time.
   */
  readonly phase?: 'first' | 'waiting' | 'alone' | 'last'
  /** Sends requests, and judges the responses. A thrown error makes the scenario undecided. */
  run(probe: Probe): Promise<Finding> | Finding
}
