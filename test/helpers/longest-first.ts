import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Most of them are small, and Vitest would begin with the largest files. */
const LONGEST = [
  'cli/service/rotate.long',
  'check/flawed.long',
  'check/python.long',
  'check/adapters.long',
  'check/examples.long',
  'adapters/small-chunks.long',
  'inbox/poison.long',
  'changes/snapshots/histories.long',
  'shutdown.long',
  'explain/senders.long',
  'contract/inbox/postgres.engine',
  'contract/inbox/sqlite.test',
  'contract/inbox/memory.test',
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
