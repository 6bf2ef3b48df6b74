import { describe } from 'vitest'
import { describeBounds } from './bounds.ts'
import type { InboxEngineKind } from './engine.ts'
import { describeKeeping } from './keeping.ts'
import { describeLasting } from './lasting.ts'
import { describeRefusing } from './refusing.ts'
import { describeWorking } from './working.ts'

/** The contract of an inbox: one suite over every engine. */
export function describeInbox(kind: InboxEngineKind): void {
  describe(`an inbox in ${kind.name}`, { timeout: 40_000 }, () => {
    describeKeeping(kind)
    describeRefusing(kind)
    describeWorking(kind)
    describeLasting(kind)
    describeBounds(kind)
  })
}
