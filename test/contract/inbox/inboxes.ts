import { describe } from 'vitest'
import { describeCoalescing } from './coalescing.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeFailing } from './failing.ts'
import { describeGenerations } from './generations.ts'
import { describeHandling } from './handling.ts'
import { describeLimits } from './limits.ts'
import { describeNames } from './names.ts'
import { describeOperating } from './operating.ts'
import { describeOrder } from './order.ts'
import { describePages } from './pages.ts'
import { describeStoring } from './storing.ts'
import { describeTiming } from './timing.ts'
import { describeTriage } from './triage.ts'
import { describeUnhandled } from './unhandled.ts'
import { describeValidation } from './validation.ts'

/** The contract of an inbox. Every engine must pass it. */
export function describeInbox(kind: InboxEngineKind): void {
  describe(`an inbox in ${kind.name}`, { concurrent: true, timeout: 40_000 }, () => {
    describeStoring(kind)
    describeGenerations(kind)
    describeValidation(kind)
    describeHandling(kind)
    describeFailing(kind)
    describeUnhandled(kind)
    describeNames(kind)
    describeTiming(kind)
    describeLimits(kind)
    describeOperating(kind)
    describePages(kind)
    describeTriage(kind)
    describeCoalescing(kind)
    describeOrder(kind)
  })
}
