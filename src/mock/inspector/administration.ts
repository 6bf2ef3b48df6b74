import { configInvalid } from '../../errors.ts'
import type { Done, Values } from '../../inspector/source.ts'
import { type Administer, createAdminister } from '../admin/run-operation.ts'
import { AdminError } from '../http/errors.ts'
import type { Mock } from '../service.ts'

/** Runs an operation of the administration as an action of the page. */
export type RunOperation = (path: string, values: Values, message: string) => Promise<Done>

/** Status of an error after which the change is made, but not saved. */
const NOT_SAVED = 500

export function createRunOperation(mock: Mock): RunOperation {
  const administer: Administer = createAdminister(mock)
  return async (path, values, message) => {
    try {
      await administer(path, values)
      return { message }
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      if (error.status === NOT_SAVED) return { message: error.message, ok: false }
      throw configInvalid(error.message)
    }
  }
}
