import type { CheckReport, CheckResult } from './types.ts'

/** True if a failure of this scenario means that the receiver does not conform. */
export const isRequired = ({ level }: CheckResult, { strict }: Pick<CheckReport, 'strict'>): boolean =>
  level === 'must' || (strict && level === 'should')
