import { describe } from 'vitest'
import { describeBounds } from './bounds.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeKeeping } from './keeping.ts'
import { describeWorking } from './working.ts'

/** The contract of an inbox: one suite over every engine. */
export function describeInbox(kind: InboxEngineKind): void {
  describe(`an inbox in ${kind.name}`, { timeout: 40_000 }, () => {
    describeKeeping(kind)
    describeWorking(kind)
    describeBounds(kind)
  })
}
