import { describeHistories } from './histories.ts'

describeHistories(80, 120_000)
