import { createSubject } from '../../contract/setups.ts'
import { handle } from './fetch.ts'

// Workers create their receiver outside of requests, where many functions are forbidden.
createSubject('plain')

export default { fetch: (request: Request): Promise<Response> => handle(request) }
