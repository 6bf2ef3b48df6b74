import { BODY_BYTES_CAUSES } from './body-bytes.ts'
import { BODY_CONTENT_CAUSES } from './body-content.ts'
import { BODY_FORM_CAUSES } from './body-form.ts'

/** Causes in the body: the bytes that were signed differ from the bytes that arrived. */
export const BODY_CAUSES: typeof BODY_CONTENT_CAUSES & typeof BODY_BYTES_CAUSES & typeof BODY_FORM_CAUSES = {
  ...BODY_CONTENT_CAUSES,
  ...BODY_BYTES_CAUSES,
  ...BODY_FORM_CAUSES,
}
