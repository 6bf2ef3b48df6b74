import { describe, expect, it } from 'vitest'
import { EXTRACTION_FAULTS } from '../../../src/mock/faults/faults.ts'
import { CASES } from './cases.ts'
import { COVERED } from './fault-cases.ts'
import { runHere } from './subject.ts'

describe('the contract of geohook/changes', () => {
  for (const { name, run } of CASES) it(name, () => run(runHere))

  it('covers every fault of the mock', () => {
    expect([...COVERED].sort()).toEqual(Object.keys(EXTRACTION_FAULTS).sort())
  })
})
