import { createSubject } from '../../contract/setups.ts'
import { handle } from './fetch.ts'

// Workers make their receiver outside of any request, where much is forbidden.
createSubject('plain')

export default { fetch: (request: Request): Promise<Response> => handle(request) }
