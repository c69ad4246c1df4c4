package nats

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"
)

// errLogin refuses a client that did not say who it is, or is not known.
var errLogin = errors.New("nats: authorization violation")

// logins is who may connect.
type logins struct {
	token  string
	users  map[string]*user
	nkeys  map[string]*user
	noAuth *user
}

// user is a login with its permissions.
type user struct {
	User
	publish, subscribe *permission // nil for everything
}

func newLogins(a Auth) (*logins, error) {
	l := &logins{token: a.Token, users: map[string]*user{}, nkeys: map[string]*user{}}
	for _, u := range a.Users {
		made := &user{User: u}
		var err error
		if made.publish, err = newPermission(u.Publish); err != nil {
			return nil, fmt.Errorf("publish permissions of the user %s%s: %w", u.Name, u.NKey, err)
		}
		if made.subscribe, err = newPermission(u.Subscribe); err != nil {
			return nil, fmt.Errorf("subscribe permissions of the user %s%s: %w", u.Name, u.NKey, err)
		}
		switch {
		case u.NKey != "" && !nkeys.IsValidPublicUserKey(u.NKey):
			return nil, fmt.Errorf("%q is no public nkey of a user", u.NKey)
		case u.NKey != "":
			l.nkeys[u.NKey] = made
		case u.Name == "" || l.users[u.Name] != nil:
			return nil, fmt.Errorf("there is no name, or not only one, for the user %q", u.Name)
		default:
			l.users[u.Name] = made
		}
	}
	if a.NoAuth != "" {
		if l.noAuth = l.users[a.NoAuth]; l.noAuth == nil {
			return nil, fmt.Errorf("the user %q, for clients without credentials, does not exist", a.NoAuth)
		}
	}
	return l, nil
}

// required says that clients have to log in.
func (l *logins) required() bool { return l.token != "" || len(l.users)+len(l.nkeys) > 0 }

// nonce is what a client with an nkey has to sign; "" when nobody has one.
func (l *logins) nonce() string {
	if len(l.nkeys) == 0 {
		return ""
	}
	var b [11]byte
	rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// anonymous is the user that a client is which does not log in, if there is one.
func (l *logins) anonymous() (*user, bool) {
	if !l.required() {
		return &user{}, true
	}
	return l.noAuth, l.noAuth != nil
}

// login finds the user that a client is.
func (l *logins) login(o *connectOptions, nonce string) (*user, error) {
	if !l.required() {
		return &user{}, nil
	}
	switch {
	case o.NKey != "" && len(l.nkeys) > 0:
		if u := l.nkeys[o.NKey]; u != nil && signed(o.NKey, o.Signature, nonce) {
			return u, nil
		}
	case o.User != "":
		if u := l.users[o.User]; u != nil && sameSecret(u.Password, o.Password) {
			return u, nil
		}
	case o.Token != "":
		if l.token != "" && sameSecret(l.token, o.Token) {
			return &user{}, nil
		}
	case o.Password == "" && l.noAuth != nil:
		return l.noAuth, nil
	}
	return nil, errLogin
}

// signed says that signature is key's, of the nonce.
func signed(key, signature, nonce string) bool {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		if sig, err = base64.StdEncoding.DecodeString(signature); err != nil { // of old clients
			return false
		}
	}
	public, err := nkeys.FromPublicKey(key)
	return err == nil && public.Verify([]byte(nonce), sig) == nil
}

// sameSecret compares what a client gave with what is configured, which may be a bcrypt hash.
func sameSecret(configured, given string) bool {
	if isHash(configured) {
		return bcrypt.CompareHashAndPassword([]byte(configured), []byte(given)) == nil
	}
	return subtle.ConstantTimeCompare([]byte(configured), []byte(given)) == 1
}

func isHash(s string) bool {
	_, err := bcrypt.Cost([]byte(s))
	return strings.HasPrefix(s, "$2") && err == nil
}
