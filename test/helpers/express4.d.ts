/** Types for the package alias of Express 4. The tests use only functions that have the same types in Express 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
