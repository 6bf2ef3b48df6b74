import type { Start } from './subject.ts'

/** A behaviour that every runtime must show. */
export interface Case {
  name: string
  run(use: Start): Promise<void>
}
