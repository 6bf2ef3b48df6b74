import { describeHistories } from './histories.ts'

// GEOHOOK_HISTORIES sets another number of histories, for example 100000.
describeHistories(Number(process.env.GEOHOOK_HISTORIES ?? 10_000), 3_600_000)
