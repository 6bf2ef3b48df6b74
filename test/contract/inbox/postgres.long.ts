import { describeLease } from './lease.ts'
import { describePostgres } from './postgres.ts'

await describePostgres(describeLease)
