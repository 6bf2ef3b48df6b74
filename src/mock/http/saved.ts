import { AdminError } from './errors.ts'

/**
 * Waits until a change is saved.
 *
 * @throws {AdminError} 500
 */
export async function saved(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch {
    throw new AdminError(500, 'the change is made, but the state could not be saved')
  }
}
