import type { Observer } from 'geohook/check'
import { KEY } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import type { Flaw } from './flaws.ts'
import { createListener, createSteps } from './steps.ts'

/** Starts a receiver with a flaw, or a correct one. The observer counts what its handler gets. */
export async function serveFlawed(flaw?: Flaw): Promise<{ url: string; observer: Observer }> {
  const names: unknown[] = []
  const steps = createSteps(KEY)
  const listener = createListener({ ...steps, ...flaw?.change(steps) }, async (payload) => {
    names.push((payload as { name?: unknown } | null)?.name)
  })
  const { url } = await serve(listener)
  return { url, observer: (id) => names.filter((name) => name === `geohook check ${id}`).length }
}
