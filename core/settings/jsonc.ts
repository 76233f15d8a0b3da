/**
 * What reading a JSON file takes of its library.
 *
 * Invariant: no more than that: what formats stays away from a start.
 */
export { createScanner, findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from "jsonc-parser"
