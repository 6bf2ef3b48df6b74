export type { ChangesCode } from '../error-statuses.ts'
export type * from './types.ts'
