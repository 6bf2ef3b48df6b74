import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Most of them are small, and Vitest would begin with the largest files. */
const LONGEST = [
  'explain/coverage.long',
  'check/flawed.long',
  'inbox/poison.long',
  'changes/snapshots/histories.long',
  'shutdown.long',
  'explain/near-misses.long',
  'contract/inbox/postgres.test',
  'contract/inbox/redis.test',
  'contract/inbox/sqlite.test',
  'contract/inbox/memory.test',
  'explain/key-fixtures.test',
  'cli/demo/demo.test',
]

/** Begins with the files that take longest, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONGEST.some((name) => moduleId.includes(`/test/${name}.`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
