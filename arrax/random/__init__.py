"""Random numbers with explicit keys. The face: public names only."""

from arrax.random.keys import PRNGKey as PRNGKey
from arrax.random.keys import bits as bits
from arrax.random.keys import clone as clone
from arrax.random.keys import fold_in as fold_in
from arrax.random.keys import key as key
from arrax.random.keys import key_data as key_data
from arrax.random.keys import key_impl as key_impl
from arrax.random.keys import split as split
from arrax.random.keys import wrap_key_data as wrap_key_data
from arrax.random.uniforms import normal as normal
from arrax.random.uniforms import randint as randint
from arrax.random.uniforms import uniform as uniform
