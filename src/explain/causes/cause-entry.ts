/** Where a cause is fixed, for fixes that differ. */
export type Place =
  | 'Express'
  | 'Fastify'
  | 'Lambda'
  | 'nginx'
  | 'Node.js'
  | 'Python'
  | 'PHP'
  | 'Go'
  | 'Ruby'
  | 'Java'
  | '.NET'
  | 'curl'

/** One cause, as `explain` and docs/troubleshooting.md describe it. All texts are complete sentences. */
export interface CauseEntry {
  /** What the user did or notices. */
  symptom: string
  /** How `explain` proves the cause. */
  proof: string
  /** How to fix the cause anywhere. */
  fix: string
  /** How to fix the cause in the frameworks, proxies and languages where it is common. */
  fixIn?: Partial<Record<Place, string>>
}
