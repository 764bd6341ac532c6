package weburl

// longestParam is one more than the longest name in params, so that no longer name matches one.
const longestParam = 32

// Why a parameter is dropped.
type dropping uint8

const (
	dropAlways      dropping = iota + 1 // tracking: a campaign or a click, never content
	dropSession                         // a session by its very name, with any value
	dropSessionLike                     // a session if its value looks like one
)

// paramPrefixes are families of tracking parameters (rule 10).
var paramPrefixes = [...]string{"utm_", "mtm_", "hsa_", "pk_", "piwik_", "matomo_"}

// params are the names that rules 10 and 11 know, in lower case. A name is listed only if its
// owner documents it as tracking, or a server writes it as its session's name; names that sites
// also use for content (ref, source, from, id, s) are not.
var params = map[string]dropping{
	// Clicks on advertisements and searches.
	"gclid": dropAlways, "gclsrc": dropAlways, "gbraid": dropAlways, "wbraid": dropAlways,
	"dclid": dropAlways, "gad_source": dropAlways, "gad_campaignid": dropAlways,
	"srsltid": dropAlways, "fbclid": dropAlways, "igshid": dropAlways, "igsh": dropAlways,
	"msclkid": dropAlways, "yclid": dropAlways, "ymclid": dropAlways, "ysclid": dropAlways,
	"_openstat": dropAlways, "twclid": dropAlways, "ttclid": dropAlways, "epik": dropAlways,
	"li_fat_id": dropAlways, "sccid": dropAlways, "irclickid": dropAlways,
	"rb_clickid": dropAlways, "wickedid": dropAlways, "zanpid": dropAlways,
	// Mail and marketing systems.
	"mc_cid": dropAlways, "mc_eid": dropAlways, "mkt_tok": dropAlways, "_hsenc": dropAlways,
	"_hsmi": dropAlways, "__hstc": dropAlways, "__hssc": dropAlways, "__hsfp": dropAlways,
	"hsctatracking": dropAlways, "vero_id": dropAlways, "vero_conv": dropAlways,
	"oly_anon_id": dropAlways, "oly_enc_id": dropAlways, "ml_subscriber": dropAlways,
	"ml_subscriber_hash": dropAlways, "_branch_match_id": dropAlways,
	"_branch_referrer": dropAlways, "_kx": dropAlways,
	// Visits carried between the hosts of one owner.
	"_ga": dropAlways, "_gl": dropAlways, "guccounter": dropAlways,
	"guce_referrer": dropAlways, "guce_referrer_sig": dropAlways,
	// Sessions of servers and frameworks.
	"phpsessid": dropSession, "jsessionid": dropSession, "aspsessionid": dropSession,
	"asp.net_sessionid": dropSession, "cftoken": dropSession, "oscsid": dropSession,
	"zenid": dropSession,
	// Sessions when they look like one.
	"sid": dropSessionLike, "sessionid": dropSessionLike, "session_id": dropSessionLike,
	"session": dropSessionLike, "sessid": dropSessionLike, "sess_id": dropSessionLike,
	"sess": dropSessionLike, "phpsessionid": dropSessionLike, "cfid": dropSessionLike,
	"xtsid": dropSessionLike, "psid": dropSessionLike,
}
