import { expect, it } from 'vitest'
import { CODE_CAUSES, FIXES, REFUSAL_CAUSES, SECRET_CAUSES } from '../../src/explain/causes.ts'
import { FIRST_ROWS } from './rows/all.ts'
import { describeRows } from './table.ts'

describeRows('explain, causes', FIRST_ROWS)

it('has a row for every cause that is not of a refusal', () => {
  const others = { ...CODE_CAUSES, ...REFUSAL_CAUSES, ...SECRET_CAUSES }
  const causes = Object.keys(FIXES).filter((cause) => !Object.hasOwn(others, cause))
  expect([...new Set(FIRST_ROWS.map(({ cause }) => cause as string))].sort()).toEqual(causes.sort())
})
