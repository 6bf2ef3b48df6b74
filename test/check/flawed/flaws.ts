import { ANSWER_FLAWS } from './answers.ts'
import { BODY_FLAWS } from './bodies.ts'
import { CONNECTION_FLAWS } from './connections.ts'
import { DELIVERY_FLAWS } from './deliveries.ts'
import type { Flaws } from './flaw.ts'
import { HOSTED_FLAWS } from './hosted.ts'
import { ODD_BODY_FLAWS } from './odd-bodies.ts'
import { SIGNATURE_FLAWS } from './signatures.ts'

/** All receivers with one flaw. */
export const FLAWS: Flaws = {
  ...SIGNATURE_FLAWS,
  ...BODY_FLAWS,
  ...ODD_BODY_FLAWS,
  ...CONNECTION_FLAWS,
  ...DELIVERY_FLAWS,
  ...HOSTED_FLAWS,
  ...ANSWER_FLAWS,
}

/** Ids of the scenarios about conveniences that even the correct receiver of steps.ts does not have. */
export const OPTIONAL = ['encoding-base64', 'percent-encoded', 'time-stale', 'time-future']
