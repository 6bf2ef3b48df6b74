import { afterEach, describe, it } from 'vitest'
import type { Mount } from '../helpers/mounts/mounted.ts'
import { CASES } from './cases/index.ts'
import { startHere } from './subject.ts'

/** Tests the behaviour that all adapters share. Each case runs with the real framework on a real socket. */
export function adapterContract(adapter: string, mount: Mount): void {
  describe(adapter, () => {
    const { start, stop } = startHere(mount)
    afterEach(stop)
    for (const { name, run } of CASES) it(name, () => run(start))
  })
}
