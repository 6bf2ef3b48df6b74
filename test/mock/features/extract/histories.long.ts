import { describeHistories } from './histories.ts'

// By hand: GEOHOOK_HISTORIES=10000 npm run test:long -- test/mock/features/extract
describeHistories(Number(process.env.GEOHOOK_HISTORIES ?? 100), 3_600_000)
