import type { Options } from '../options.ts'
import type { State } from '../state/snapshot.ts'

/** What the administration works on. */
export interface Context {
  readonly state: State
  readonly options: Pick<Options, 'version' | 'auth' | 'httpStatus' | 'omitted' | 'clock'>
  /** Resolves when what has changed is saved. */
  save(): Promise<void>
}
