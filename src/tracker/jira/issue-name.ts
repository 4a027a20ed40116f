/** The id or the key of an issue. */
export const ISSUE = /^(?:\d{1,18}|[A-Za-z][A-Za-z0-9_]{0,99}-\d{1,18})$/;
/** The id of anything in Jira. */
export const ID = /^\d{1,18}$/;
