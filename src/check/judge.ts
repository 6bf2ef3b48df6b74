import { isRefusal, isSuccess, type Reply } from './http/reply.ts'
import type { DeliveryParts, Probe } from './probe.ts'
import { shorten } from './shorten.ts'
import type { Finding } from './types.ts'

export const passed = (evidence: string): Finding => ({ verdict: 'passed', evidence })
export const failed = (evidence: string): Finding => ({ verdict: 'failed', evidence })
export const undecided = (evidence: string): Finding => ({ verdict: 'undecided', evidence })
export const skipped = (evidence: string): Finding => ({ verdict: 'skipped', evidence })

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

/** Judges a reply to a valid delivery: 2xx passes. */
export function accepts(reply: Reply, sent: string): Finding {
  const evidence = `sent ${sent}: ${describe(reply)}`
  if (isLimited(reply)) return undecided(evidence)
  return isSuccess(reply) ? passed(evidence) : failed(evidence)
}

/** Judges a reply to a request that the receiver must refuse: 4xx passes. */
export function refuses(reply: Reply, sent: string): Finding {
  const evidence = `sent ${sent}: ${describe(reply)}`
  if (isLimited(reply)) return undecided(evidence)
  return isRefusal(reply) ? passed(evidence) : failed(evidence)
}

/** Judges a reply to a request that the receiver may accept or refuse, but must answer without failing: 2xx and 4xx pass. */
export function answers(reply: Reply, sent: string): Finding {
  return isSuccess(reply) ? accepts(reply, sent) : refuses(reply, sent)
}

/** A request to judge. */
export interface Attempt extends DeliveryParts {
  /** What is sent, as the object of `sent …`. */
  readonly sent: string
  readonly body: Uint8Array
}

type Judge = (reply: Reply, sent: string) => Finding

/** Sends requests one after another until one fails or is undecided. Returns that finding, or the last one. */
export async function judgeEach(probe: Probe, attempts: readonly Attempt[], judge: Judge): Promise<Finding> {
  let finding = undecided('nothing was sent')
  for (const { sent, body, ...parts } of attempts) {
    finding = judge(await probe.deliver(body, parts), sent)
    if (finding.verdict !== 'passed') return finding
  }
  return attempts.length > 1
    ? passed(`${attempts.length} requests; the last one: ${finding.evidence}`)
    : finding
}
